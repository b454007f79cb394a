"""The API over HTTP: requests, lists, watches, discovery."""
