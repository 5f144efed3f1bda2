"""Operators in C++, built at run time with g++ and called through ctypes."""
