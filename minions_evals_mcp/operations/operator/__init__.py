"""Operations that the operator alone asks for: at the command line, or in a program."""
