# SPDX-License-Identifier: Apache-2.0
"""What requests to a server of the package must show: the name that they were sent to, and the token. slow/test_serve.py has the server."""
import pytest

from tenon._guard import Guard, is_local
from tenon.serve import Server


def refused(guard, path="/v2/models/m/infer", **headers):
    said = guard.refusal(path, [(name.encode(), value.encode("latin-1")) for name, value in headers.items()])
    return said[0] if said else None


def test_which_addresses_are_of_this_machine_alone():
    assert is_local("127.0.0.1") and is_local("127.1.2.3") and is_local("localhost") and is_local("::1")
    assert not is_local("0.0.0.0") and not is_local("::") and not is_local("203.0.113.1") and not is_local("") and not is_local("no such name.invalid")


def test_a_server_of_this_machine_answers_under_no_other_name():
    guard = Guard("127.0.0.1", None)
    for own in ("127.0.0.1:8080", "localhost", "LOCALHOST:8080", "[::1]:8080", "127.0.0.1", "192.0.2.7:80"):
        assert refused(guard, host=own) is None, own
    for foreign in ("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:80", "[evil]", "", ":", "\xff"):
        assert refused(guard, host=foreign) == 403, foreign
        assert refused(guard, "/v2/health/live", host=foreign) == 403, foreign
    assert refused(guard, host="localhost", origin="http://evil.example") == 403, "a page of another site"
    assert refused(guard, host="localhost", origin="null") == 403
    assert refused(guard, host="localhost", origin="http://localhost:3000") is None
    assert refused(Guard("build-box.localhost", None), host="Build-Box.localhost:80") in (None, 403), "its own name, where it has an address"
    assert refused(Guard("0.0.0.0", "t" * 16), host="any.example", authorization="Bearer " + "t" * 16) is None, "others reach it by names"


def test_all_but_health_needs_the_token():
    guard = Guard("127.0.0.1", "secret")
    for path in ("/v2/models/m/infer", "/metrics", "/docs", "/", "/v2/health/live/", "/v2/health"):
        assert refused(guard, path, host="localhost") == 401, path
        for wrong in ("secret", "Bearer", "Bearer secre", "Bearer secret2", "Basic secret", "Bearer \xff"):
            assert refused(guard, path, host="localhost", authorization=wrong) == 401, wrong
        for right in ("Bearer secret", "bearer  secret "):
            assert refused(guard, path, host="localhost", authorization=right) is None, right
    assert refused(guard, "/v2/health/ready", host="localhost") is None
    assert guard.is_let_in(b"Bearer secret") and not guard.is_let_in(None)


def test_others_come_in_only_with_a_token_or_where_that_is_said():
    for token in ("", "two words", "\xe4", "a\n"):
        with pytest.raises(ValueError, match="without blanks"):
            Server(None, token=token)
    with pytest.raises(ValueError, match="--no-token"):
        Server(None, host="0.0.0.0")
