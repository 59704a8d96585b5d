"""What holds in every healthy training. Each law reads the ledger and yields its violations."""
