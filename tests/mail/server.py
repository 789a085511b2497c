"""An SMTP server for tests, on a free port, with configurable faults.

    server.py accept             accepts everything
    server.py refuse             550 to every recipient
    server.py delay N            451 to the first N recipients, then accepts everything
    server.py hang               stops responding at the first recipient
    server.py lose N             receives the first N emails and drops the connection without a reply, then replies
    server.py sign-in            accepts only the user ana with the password "hush & more"
    server.py starttls FOLDER    requires TLS; writes the certificate to trust to FOLDER/authority.pem

The first line it prints is {"port": N}, each further line an email it received. It exits when its standard
input closes, so it never outlives the process that started it.
"""

import asyncio
import email
import email.policy
import json
import ssl
import subprocess
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def print_json(value):
    print(json.dumps(value), flush=True)


def body(message, kind):
    part = message.get_body(preferencelist=(kind,))
    return part.get_content() if part else None


class Handler:
    def __init__(self, mode, count):
        self.mode, self.count = mode, count

    def take_fault(self, mode):
        if self.mode != mode or self.count == 0:
            return False
        self.count -= 1
        return True

    async def handle_RCPT(self, server, session, envelope, address, options):
        if self.mode == "refuse":
            return "550 5.1.1 No such person here"
        if self.take_fault("delay"):
            return "451 4.7.1 Come back later"
        if self.mode == "hang":
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print_json({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "hello": session.host_name,
            "encrypted": session.ssl is not None,
            "user": session.auth_data.login.decode() if session.auth_data else None,
            "headers": [[name, str(value)] for name, value in message.items()],
            "kind": message.get_content_type(),
            "text": body(message, "plain"),
            "html": body(message, "html"),
            "longest_line": max(len(line) for line in envelope.content.split(b"\r\n")),
            "ascii": envelope.content.isascii(),
        })
        if self.take_fault("lose"):
            server.transport.abort()
        return "250 Taken"


def sign_in(server, session, envelope, mechanism, data):
    valid = data.login == b"ana" and data.password == b"hush & more"
    return AuthResult(success=valid, handled=valid, auth_data=data if valid else None)


def certificate(folder):
    key, cert = f"{folder}/key.pem", f"{folder}/authority.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mail",
         "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
         "-keyout", key, "-out", cert],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


async def main(mode, argument):
    settings = {"hostname": "mail.test", "enable_SMTPUTF8": False}
    if mode == "sign-in":
        settings |= {"authenticator": sign_in, "auth_required": True, "auth_require_tls": False}
    if mode == "starttls":
        settings |= {"tls_context": certificate(argument), "require_starttls": True}
    handler = Handler(mode, int(argument) if argument and mode != "starttls" else 0)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(handler, loop=loop, **settings), "127.0.0.1", 0)
    print_json({"port": server.sockets[0].getsockname()[1]})
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
