"""Prompts: files with a header, placeholders and rubrics."""
