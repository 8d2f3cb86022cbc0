"""The resources that can be read without a call: resources, prompts, completion, subscriptions, the guide."""
