"""What ends the server with one clear line, and with which exit code."""

EXIT_CRASHED = 1
EXIT_BAD_SETTINGS = 2
EXIT_PORT_BUSY = 3
EXIT_BAD_MODEL = 4
EXIT_NO_COMPILER = 5
EXIT_BAD_OVERLAY = 6


class StartError(Exception):
    """The server cannot start; the message is the one line that the user reads."""

    exit_code = EXIT_CRASHED


class SettingsError(StartError, ValueError):
    """serve.yaml has an unknown key, a wrong type or a value out of range."""

    exit_code = EXIT_BAD_SETTINGS


class PortBusyError(StartError):
    """Another program listens on the port already."""

    exit_code = EXIT_PORT_BUSY


class ModelFolderError(StartError, ValueError):
    """The model folder is missing, incomplete or of an unsupported architecture."""

    exit_code = EXIT_BAD_MODEL


class CompilerMissingError(StartError):
    """The native operators need a C++ compiler and there is none, or it refused the source."""

    exit_code = EXIT_NO_COMPILER


class OverlayError(StartError, ValueError):
    """The workspace's overlay holds a file that may not be replaced."""

    exit_code = EXIT_BAD_OVERLAY


class UnsupportedCombinationError(Exception):
    """Two switches that do not work together met in a forward pass: a crash."""
