"""Pictures of schedules: rounds finds who sends what to whom and when; text, svg and html show it."""
