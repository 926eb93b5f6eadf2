"""What is known of users and items: fields, histories, profiles, and how alike texts are."""
