"""Verifies webhook deliveries with the package standardwebhooks.

Standard input is a list of {"secret", "headers", "body"}; it prints whether each delivery is accepted.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def accepts(delivery):
    try:
        Webhook(delivery["secret"]).verify(delivery["body"].encode(), delivery["headers"])
    except WebhookVerificationError:
        return False
    return True


print(json.dumps({"standardwebhooks": [accepts(delivery) for delivery in json.load(sys.stdin)]}))
