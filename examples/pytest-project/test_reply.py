from reply import reply


def test_the_reply_names_the_refund(evals):
    evals.check(reply("Where is my money?"), assertions=[{"type": "icontains", "value": "refund"}])
