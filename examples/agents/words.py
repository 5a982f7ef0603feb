#!/usr/bin/env python3
"""Counts words. A call agent and a worker agent in one, with nothing but Python.

A request is one line of JSON on stdin, its answer one line on stdout. A call agent gets one request and
then the end of its input; a worker gets one after another. Reading until the end serves both.
"""

import json
import sys


class BadRequest(Exception):
    """The request is wrong, and trying again would not help."""


def text_of(payload):
    text = payload.get("text") if isinstance(payload, dict) else None
    if not isinstance(text, str):
        raise BadRequest("the payload has no `text`")
    return text


def count(payload):
    words = text_of(payload).split()
    # Logs go to stderr: stdout belongs to the answers.
    print(f"counted {len(words)} words", file=sys.stderr)
    return {"words": len(words)}


def longest(payload):
    return {"word": max(text_of(payload).split(), key=len, default="")}


ACTIONS = {"count": count, "longest": longest}


def answer(request):
    action = ACTIONS.get(request["action"])
    if action is None:
        return {"status": "error", "code": 501, "error": f"no action {request['action']}"}
    try:
        return {"status": "success", "code": 0, "result": action(request["payload"])}
    except BadRequest as error:
        return {"status": "error", "code": 400, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
        return {"status": "error", "code": 500, "error": str(error)}


for line in sys.stdin:
    request = json.loads(line)
    response = {"request_id": request["request_id"], **answer(request)}
    # Flushed, or a worker's answer would wait in a buffer until its caller gives up.
    print(json.dumps(response), flush=True)
