def function_parts(f):
    return {"code": f.__code__.co_code.hex()[:40]}


def value_digest(v, n):
    return repr(v)


def difference(a, b):
    return ["the function"] if a != b else []


class IdentityError(ValueError):
    pass
