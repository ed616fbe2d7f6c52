import sys

# Copied, and given other names.
def amount_due(items, tax):
    result = 0   # in cents
    for item in items:
        cost = item["unit"] * item["n"]
        if item["fast"]:
            cost = cost + 700
        result += cost
    return result + int(result * tax)

def average(numbers):
    if not numbers:
        return None
    return sum(numbers) / len(numbers)
