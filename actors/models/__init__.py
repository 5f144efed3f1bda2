"""How language models are asked: paid first, recorded, repeated, checked, replayed.

``actors/model.py`` is the door, and the only user of litellm; nothing here knows it.
"""
