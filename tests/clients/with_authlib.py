"""A server app, written with Authlib.

The first line of standard input is {"issuer", "api", "client_id", "client_secret", "redirect_uri", "scope"}.
It prints {"authorize": URL}, reads the callback URL, exchanges, refreshes and revokes tokens, and prints the
status of each call to the API.
"""

import json
import os
import sys

import requests

# Authlib otherwise requires https, even on localhost.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session


def main():
    settings = json.loads(sys.stdin.readline())
    server = requests.get(settings["issuer"] + "/.well-known/oauth-authorization-server", timeout=40).json()
    session = OAuth2Session(
        settings["client_id"],
        settings["client_secret"],
        token_endpoint_auth_method="client_secret_basic",
        revocation_endpoint_auth_method="client_secret_basic",
        scope=settings["scope"],
        redirect_uri=settings["redirect_uri"],
        code_challenge_method="S256",
    )
    verifier = generate_token(48)
    url, state = session.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
    print(json.dumps({"authorize": url}), flush=True)

    callback_url = sys.stdin.readline().strip()
    first = session.fetch_token(
        server["token_endpoint"], authorization_response=callback_url, state=state, code_verifier=verifier
    )
    first = dict(first)
    calls = [session.get(settings["api"] + "/teams").status_code]
    second = session.refresh_token(server["token_endpoint"], first["refresh_token"])
    calls.append(session.get(settings["api"] + "/teams").status_code)
    session.revoke_token(
        server["revocation_endpoint"], token=second["refresh_token"], token_type_hint="refresh_token"
    )
    calls.append(session.get(settings["api"] + "/teams").status_code)
    rotated = first["refresh_token"] != second["refresh_token"]
    print(json.dumps({"calls": calls, "rotated": rotated, "scope": second["scope"]}), flush=True)


main()
