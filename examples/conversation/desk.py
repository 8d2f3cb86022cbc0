"""A refund desk without a model, as a Python function. It is called once a turn, and remembers the customer in `session`."""

import re


def agent(message, session, world):
    """The answer to what the customer said last."""
    if found := re.search(r"\b([A-Z]\d+)\b", message):
        session["order"] = found[1]
    if "order" not in session:
        return "Gladly. What is your order number?"
    if "number" in session:
        return "You are welcome. Goodbye!"
    order = world.call("get_order", id=session["order"])
    session["number"] = world.call("refund", id=session["order"], amount=order["total"])["number"]
    return f"Your order {session['order']} is paid back. The number of your refund is {session['number']}."


def polite(message, session):
    """It only says that it is done."""
    session["turns"] = session.get("turns", 0) + 1
    return ["What is your order number?", "Your refund has number R-1001.", "Goodbye!"][min(session["turns"], 3) - 1]
