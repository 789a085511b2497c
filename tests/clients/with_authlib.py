"""An app on a server, written with Authlib.

The first line of standard input is {"issuer", "api", "client_id", "client_secret", "redirect_uri", "scope"}.
It prints {"authorize": URL}, reads the address its user came back to, goes through the life of a
token and prints how each call of the API was answered.
"""

import json
import os
import sys

import requests

# It would otherwise insist on https, even on this very computer.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session


def main():
    given = json.loads(sys.stdin.readline())
    server = requests.get(given["issuer"] + "/.well-known/oauth-authorization-server", timeout=40).json()
    session = OAuth2Session(
        given["client_id"],
        given["client_secret"],
        token_endpoint_auth_method="client_secret_basic",
        revocation_endpoint_auth_method="client_secret_basic",
        scope=given["scope"],
        redirect_uri=given["redirect_uri"],
        code_challenge_method="S256",
    )
    verifier = generate_token(48)
    url, state = session.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
    print(json.dumps({"authorize": url}), flush=True)

    back = sys.stdin.readline().strip()
    first = session.fetch_token(
        server["token_endpoint"], authorization_response=back, state=state, code_verifier=verifier
    )
    first = dict(first)
    calls = [session.get(given["api"] + "/teams").status_code]
    second = session.refresh_token(server["token_endpoint"], first["refresh_token"])
    calls.append(session.get(given["api"] + "/teams").status_code)
    session.revoke_token(
        server["revocation_endpoint"], token=second["refresh_token"], token_type_hint="refresh_token"
    )
    calls.append(session.get(given["api"] + "/teams").status_code)
    rotated = first["refresh_token"] != second["refresh_token"]
    print(json.dumps({"calls": calls, "rotated": rotated, "scope": second["scope"]}), flush=True)


main()
