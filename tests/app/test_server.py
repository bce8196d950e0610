"""Headers of every response of the page's server."""

import warnings

import pytest

pytest.importorskip("streamlit")

from amortized_kde.app import server
from amortized_kde.app.server import HEADERS, POLICY, Headers


def sent(kind):
    """What the middleware sends of a message of this kind."""
    messages = []

    async def app(scope, receive, send):
        await send({"type": kind, "status": 200, "headers": [(b"content-type", b"text/html")]})

    async def send(message):
        messages.append(message)

    # Nothing waits here; and the browser of other tests has the thread's event loop.
    with pytest.raises(StopIteration):
        Headers(app)({"type": "http"}, None, send).send(None)
    return messages[0]["headers"]


def test_responses_get_the_headers_and_keep_their_own():
    found = sent("http.response.start")
    assert found[0] == (b"content-type", b"text/html")
    assert {name.decode(): value.decode() for name, value in found[1:]} == HEADERS
    assert len(sent("websocket.accept")) == 1


def test_the_page_is_served_with_the_headers_and_without_warnings(monkeypatch):
    served = {}
    monkeypatch.setattr(server.App, "run", lambda app, config: served.update(app=app, config=config))
    with warnings.catch_warnings(record=True) as caught:
        server.serve({"server.port": 1})
        warnings.warn("a cell's content", stacklevel=1)
    assert caught == []
    assert served["config"] == {"server.port": 1}
    assert served["app"].script_path == server.PAGE
    assert [entry.cls for entry in served["app"]._user_middleware] == [Headers]


def test_no_other_machine_is_allowed():
    allowed = {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:"}
    assert {source for sources in POLICY.values() for source in sources.split()} <= allowed
    assert "'unsafe-inline'" not in POLICY["script-src"]
    assert (HEADERS["x-frame-options"], POLICY["frame-ancestors"]) == ("DENY", "'none'")
