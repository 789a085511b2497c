"""An app on somebody's computer, written with requests-oauthlib.

The first line of standard input is {"issuer", "api", "client_id", "redirect_uri", "scope"}. It prints
{"authorize": URL}, reads the address its user came back to, goes through the life of a token and
prints how each call of the API was answered.
"""

import json
import os
import sys

import requests

# It would otherwise insist on https, even on this very computer.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

from requests_oauthlib import OAuth2Session


def main():
    given = json.loads(sys.stdin.readline())
    server = requests.get(given["issuer"] + "/.well-known/oauth-authorization-server", timeout=40).json()
    session = OAuth2Session(
        given["client_id"],
        redirect_uri=given["redirect_uri"],
        scope=given["scope"].split(" "),
        pkce="S256",
    )
    url, _ = session.authorization_url(server["authorization_endpoint"])
    print(json.dumps({"authorize": url}), flush=True)

    back = sys.stdin.readline().strip()
    first = session.fetch_token(
        server["token_endpoint"], authorization_response=back, include_client_id=True
    )
    first = dict(first)
    calls = [session.get(given["api"] + "/teams").status_code]
    second = session.refresh_token(server["token_endpoint"], client_id=given["client_id"])
    calls.append(session.get(given["api"] + "/teams").status_code)
    # It has no verb of its own for this.
    revoked = requests.post(
        server["revocation_endpoint"],
        data={"token": second["refresh_token"], "client_id": given["client_id"]},
        timeout=40,
    )
    revoked.raise_for_status()
    calls.append(session.get(given["api"] + "/teams").status_code)
    rotated = first["refresh_token"] != second["refresh_token"]
    scope = " ".join(second["scope"])
    print(json.dumps({"calls": calls, "rotated": rotated, "scope": scope}), flush=True)


main()
