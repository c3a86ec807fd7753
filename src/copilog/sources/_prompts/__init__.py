"""What histories of typed prompts share, whichever program wrote them."""
