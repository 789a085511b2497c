"""A native app, written with requests-oauthlib.

The first line of standard input is {"issuer", "api", "client_id", "redirect_uri", "scope"}. It prints
{"authorize": URL}, reads the callback URL, exchanges, refreshes and revokes tokens, and prints the status of each
call to the API.
"""

import json
import os
import sys

import requests

# oauthlib otherwise requires https, even on localhost.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

from requests_oauthlib import OAuth2Session


def main():
    settings = json.loads(sys.stdin.readline())
    server = requests.get(settings["issuer"] + "/.well-known/oauth-authorization-server", timeout=40).json()
    session = OAuth2Session(
        settings["client_id"],
        redirect_uri=settings["redirect_uri"],
        scope=settings["scope"].split(" "),
        pkce="S256",
    )
    url, _ = session.authorization_url(server["authorization_endpoint"])
    print(json.dumps({"authorize": url}), flush=True)

    callback_url = sys.stdin.readline().strip()
    first = session.fetch_token(
        server["token_endpoint"], authorization_response=callback_url, include_client_id=True
    )
    first = dict(first)
    calls = [session.get(settings["api"] + "/teams").status_code]
    second = session.refresh_token(server["token_endpoint"], client_id=settings["client_id"])
    calls.append(session.get(settings["api"] + "/teams").status_code)
    # The library has no function for token revocation.
    revocation = requests.post(
        server["revocation_endpoint"],
        data={"token": second["refresh_token"], "client_id": settings["client_id"]},
        timeout=40,
    )
    revocation.raise_for_status()
    calls.append(session.get(settings["api"] + "/teams").status_code)
    rotated = first["refresh_token"] != second["refresh_token"]
    scope = " ".join(second["scope"])
    print(json.dumps({"calls": calls, "rotated": rotated, "scope": scope}), flush=True)


main()
