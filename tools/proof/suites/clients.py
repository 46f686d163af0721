"""The tests of OpenAI's own clients for what Verity serves, against the running server."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.parse

from suites.openai import server, short_sound

TITLE = "tests of OpenAI's clients against the server"
BY = "tests"
VERSION = "openai 3.57.0, openai-node"
NEEDS = ["openai[aiohttp]==3.57.0", "pytest==9.0.3", "pytest-asyncio==1.4.0", "rich==13.9.4"]
NODE = ["jest@30.5.2", "@swc/jest@0.2.39", "@swc/core@1.16.22"]

NOT_APPLICABLE = {
    "speech": "makes speech from text, which Verity does not do",
    "voice": "manages voices for speech from text, which Verity does not do",
    "delete": "deletes a fine-tuned model; the models of a server are those that it was started with",
}


def run(env):
    with server(env) as address, stand_in(env, address) as url:
        env.note("The tests expect a mock that takes any value. So `verity serve` answers to every model's name, and a program between client and "
                 "server (tools/proof/suites/clients.py) puts real values in place of placeholders: of the file its first sound, of the languages en, of the "
                 "speaker's reference a sound, and segment for word in timestamp_granularities. Nothing else is changed, and no answer is.")
        return python(env, url) + node(env, url)


# Values of the tests, which a mock accepts, and what a server with models needs in their place.
def real_values(env):
    sound = short_sound(env)
    return {("file", b"Example data"): sound, ("language", b"language"): b"en", ("languages", b"string"): b"en",
            ("known_speaker_references", b"string"): b"data:audio/wav;base64," + base64.b64encode(sound),
            ("timestamp_granularities", b"word"): b"segment"}  # words need verbose_json, by OpenAI's description too


@contextlib.contextmanager
def stand_in(env, address):
    """Stands between client and server, where the tests expect a mock, and puts real sound and languages into forms."""
    to, values = urllib.parse.urlparse(address), real_values(env)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            body = self.read()
            kind = self.headers.get("Content-Type", "")
            if boundary := re.search(r'boundary="?([^";]+)', kind):
                body = rewritten(body, b"--" + boundary[1].encode(), values)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length", "transfer-encoding", "accept-encoding")}
            connection = http.client.HTTPConnection(to.hostname, to.port, timeout=120)
            connection.request(self.command, "/v1" + self.path, body, headers)
            response = connection.getresponse()
            content = response.read()
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers["Content-Type"] or "text/plain")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # tests close streams that they have not read
                self.wfile.write(content)
            connection.close()

        do_GET = do_POST = do_DELETE = forward

        def read(self):
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, *_):
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.handle_error = lambda *_: None  # a client that has what it wants closes the connection
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()


def rewritten(body, boundary, values):
    parts = body.split(boundary)
    for i, part in enumerate(parts):
        head, blank, value = part.partition(b"\r\n\r\n")
        if name := re.search(rb'name="([^"\[]*)', head):
            value = value.removesuffix(b"\r\n")
            parts[i] = head + blank + values.get((name[1].decode(), value), value) + b"\r\n"
    return boundary.join(parts)


def python(env, url):
    tests = env.sdist("openai==3.57.0")
    options = ["--rootdir", tests, "-o", "addopts=", tests / "tests/api_resources/test_models.py"]
    return env.pytest(tests / "tests/api_resources/audio", not_applicable=NOT_APPLICABLE, of="openai 3.57.0 for Python", arguments=options,
                      variables={"TEST_API_BASE_URL": url}, modules=[tests])


def node(env, url):
    clone = env.source("openai-node")
    if not clone or not shutil.which("node"):
        return [env.missing("openai-node", "needs a clone of openai/openai-node in $VERITY_PROOF_SOURCES/openai-node, and npm")]
    modules = env.npm(*NODE) / "node_modules"
    of = f"openai-node {json.loads((clone / 'package.json').read_text())['version']}"
    config = {"rootDir": str(clone), "testEnvironment": "node", "cacheDirectory": str(env.work / "jest"),
              "testMatch": ["<rootDir>/tests/api-resources/audio/*.test.ts", "<rootDir>/tests/api-resources/models.test.ts"],
              "transform": {r"^.+\.(t|j)sx?$": [str(modules / "@swc/jest"), {"sourceMaps": "inline"}]},
              "moduleNameMapper": {"^openai$": "<rootDir>/src/index.ts", "^openai/(.*)$": "<rootDir>/src/$1"},
              "modulePathIgnorePatterns": ["<rootDir>/ecosystem-tests/", "<rootDir>/packages/"]}
    report = env.work / "jest.json"
    unwanted = f"^(?!.*({'|'.join(NOT_APPLICABLE)})).*"
    done = subprocess.run(["node", modules / "jest/bin/jest.js", "--config", json.dumps(config), "--json", "--outputFile", report,
                           "--testNamePattern", unwanted], cwd=clone, env=os.environ | {"TEST_API_BASE_URL": url}, capture_output=True, text=True)
    if not report.exists():
        return [{"case": "jest", "ok": False, "of": of, "reason": (done.stderr + done.stdout)[-300:]}]
    cases = []
    for file in json.loads(report.read_text())["testResults"]:
        if not file["assertionResults"]:
            cases.append({"case": file["name"].rpartition("/")[2], "ok": False, "of": of, "reason": file["message"][:300]})
        for test in file["assertionResults"]:
            case = {"case": test["fullName"], "of": of, "ok": test["status"] == "passed", "reason": " ".join(test["failureMessages"])[:300]}
            why = next((reason for part, reason in NOT_APPLICABLE.items() if part in test["fullName"]), None)
            if test["status"] == "pending" and why:
                case |= {"ok": None, "reason": why}
            cases.append(case)
    return cases
