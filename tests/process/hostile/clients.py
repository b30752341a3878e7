"""Clients that no service wants: slow, huge, malformed and many. Used by services_test.py and services_soak.py."""

import gzip
import http.client
import json
import pathlib
import socket
import time

LOCAL = "127.0.0.1"
HEAD = b"Host: 127.0.0.1\r\n"


def connect(port, timeout=10):
    return socket.create_connection((LOCAL, port), timeout=timeout)


def send(raw, data):
    """Whether all of it was taken: a service may hang up instead."""
    try:
        raw.sendall(data)
        return True
    except OSError:
        return False


def said(raw, most=1 << 16):
    """What the service says until it hangs up, or `most` bytes."""
    content = b""
    try:
        while len(content) < most and (piece := raw.recv(most)):
            content += piece
    except OSError:
        pass
    return content


def status(answer):
    """Of raw bytes; 0 where the service hung up without a word."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def asked(port, request, timeout=10):
    """The bytes that one connection gets for these."""
    with connect(port, timeout) as raw:
        send(raw, request)
        return said(raw)


def health(port, timeout=10):
    """Seconds until /health has answered 200 on a new connection."""
    start = time.monotonic()
    connection = http.client.HTTPConnection(LOCAL, port, timeout=timeout)
    try:
        connection.request("GET", "/health")
        reply = connection.getresponse()
        if reply.status != 200 or json.loads(reply.read())["status"] != "ok":
            raise AssertionError(f"/health answers {reply.status}")
    finally:
        connection.close()
    return time.monotonic() - start


def memory(process, which="VmHWM"):
    """Bytes: VmHWM is the most it ever had, VmRSS what it has."""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(which + ":"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(f"process {process.pid} has ended")


def chunked(port, path, size):
    """A body without a length, of so many bytes or until the service hangs up; its answer."""
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with connect(port) as raw:
        send(raw, b"POST " + path.encode() + b" HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(0, size, 0x10000):
            if not send(raw, piece):
                break
        return said(raw)


def packed(port, path, size):
    """A gzip body that would have so many bytes."""
    body = gzip.compress(b"\0" * size, 1)
    return asked(port, b"POST " + path.encode() + b" HTTP/1.1\r\n" + HEAD + b"Content-Encoding: gzip\r\nContent-Length: "
                 + str(len(body)).encode() + b"\r\n\r\n" + body)


def headers(port, count):
    with connect(port) as raw:
        send(raw, b"GET / HTTP/1.1\r\n" + HEAD + b"".join(b"x-%d: y\r\n" % i for i in range(count)) + b"\r\n")
        return said(raw)


def slow_head(port):
    """A connection whose request never ends; drip() sends a little more."""
    raw = connect(port)
    send(raw, b"GET /health HTTP/1.1\r\n")
    return raw


def drip(raws, what=b"x-more: y\r\n"):
    """Those that are still open."""
    return [raw for raw in raws if send(raw, what)]


def slow_body(port, path):
    raw = connect(port)
    send(raw, b"POST " + path.encode() + b" HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000000\r\n\r\n")
    return raw


def viewer(port):
    """Of server-sent events, which it does not read."""
    raw = connect(port)
    send(raw, b"GET /api/events HTTP/1.1\r\n" + HEAD + b"\r\n")
    return raw


# Each is answered with 4xx or 5xx, or with a closed connection.
MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HEAD + b"a b: c\r\n\r\n", b"GET / HTTP/1.1\r\n" + HEAD + b"x: \0\r\n\r\n",
    b"GET http://127.0.0.1/ HTTP/1.1\r\n" + HEAD + b"\r\n", b"GET * HTTP/1.1\r\n" + HEAD + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 18446744073709551615\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: gzip\r\n\r\n", b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"\0" * 1000, b"\xff" * 20000, b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
    b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n", b"GET /%00%0d%0a HTTP/1.1\r\n" + HEAD + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.evil.com\r\n\r\n", b"GET / HTTP/1.1\r\n" + HEAD + b"Origin: http://127.0.0.1.evil.com\r\n\r\n",
    b"BREW / HTTP/1.1\r\n" + HEAD + b"\r\n", b"x" * 8 + b" / HTTP/1.1\r\n" + HEAD + b"\r\n",
]
