"""Golden sets: drawn, labelled by people, taken back."""
