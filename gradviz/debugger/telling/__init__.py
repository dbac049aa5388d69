"""What a recording means: its story in sentences, the lines of its nets, the ledgers of its sums; all as a document."""
