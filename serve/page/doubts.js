// Words that may be wrong, one after the other.
import * as edit from "./edit.js";
import * as player from "./player.js";
import * as text from "./text.js";
import {announce} from "./ui.js";

// go goes to the next doubtful word, or with -1 to the one before, which a screen reader says.
export function go(by) {
  const place = player.doubt(by);
  if (!place) return announce(by > 0 ? "No doubtful word follows. Shift+D goes back." : "No doubtful word comes before. D goes on.");
  text.goTo(place);
  announce("Doubtful: " + text.paragraphs()[place.paragraph].text.substr(place.at, place.length), {quiet: true});
}

// confirm says that the doubtful word that is heard, or was gone to, is right, and goes on to the next.
export function confirm() {
  edit.sync(); // which makes words anew
  const found = player.doubted();
  if (!found) return announce("No doubtful word is heard here. D goes to the next.");
  edit.confirm(found);
  go(1);
}
