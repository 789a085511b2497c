"""Says which deliveries the package standardwebhooks takes.

Standard input is a list of {"secret", "headers", "body"}; it prints one answer for each.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def takes(one):
    try:
        Webhook(one["secret"]).verify(one["body"].encode(), one["headers"])
    except WebhookVerificationError:
        return False
    return True


print(json.dumps({"standardwebhooks": [takes(one) for one in json.load(sys.stdin)]}))
