def total(orders, rate):
    """What all orders come to."""
    sum = 0
    for order in orders:
        price = order["price"] * order["count"]
        if order["express"]:
            price = price + 500
        sum += price
    return sum + int(sum * rate)

def greeting(name):
    return "Dear " + name
