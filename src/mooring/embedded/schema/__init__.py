"""What the fields of the API are: types, written form, merge keys. Made from generated tables."""
