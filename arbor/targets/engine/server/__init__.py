"""The program that serves: decoder, scheduler, sampler and HTTP front, every layer switchable."""
