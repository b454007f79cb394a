"""Dockerfiles without a container engine: read, judged by rules, and carried out by hand.

``tests/unit/tools/test_dockerfiles.py`` checks the rules in every test run, and
``tools/release/test_images.py`` carries the steps out before a release.
"""
