"""What a training keeps to; what breaks a remark may be meant. Each law reads the
ledger and yields its violations.
"""
