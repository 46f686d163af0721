// A service worker that shows the page without Verity, too, as it was last loaded: the recordings are in the browser.
addEventListener("fetch", e => {
  const path = e.request.url.slice(registration.scope.length);
  if (e.request.method === "GET" && /^(page\/.*\.(js|css))?$/.test(path)) e.respondWith(fetch(e.request).catch(async () => await caches.match(e.request) || Response.error()));
});
