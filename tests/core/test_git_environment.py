"""Git never sees the user's settings, hooks or prompts."""

from arbor.core.git_environment import git_environment, git_options


def test_nothing_of_the_user_gets_through() -> None:
    environment = git_environment("/usr/bin")
    assert environment["PATH"] == "/usr/bin"
    assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
    assert environment["HOME"] == "/nonexistent"


def test_options_come_in_pairs_and_the_callers_last() -> None:
    words = git_options(("core.autocrlf=false",))
    assert words[0::2] == ["-c"] * (len(words) // 2)
    assert "core.hooksPath=/dev/null" in words
    assert words[-1] == "core.autocrlf=false"
