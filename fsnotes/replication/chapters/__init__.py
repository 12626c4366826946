"""What each chapter's tables are declared as."""
