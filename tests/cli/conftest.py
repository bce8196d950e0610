"""The command line in this process."""

import pytest

from amortized_kde.cli import main


@pytest.fixture
def run(capsys):
    """Return a function that runs a command, and returns its exit status, standard output and standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call
