"""A provider in Python: a stand-in for a model that answers warmly only where it is asked to."""


def call_api(prompt, options, context):
    name = context["vars"]["name"]
    return {"output": f"Dear {name}, how good to see you!" if "warmly" in prompt else f"Hello {name}."}
