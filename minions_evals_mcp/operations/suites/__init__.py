"""Operations that make suites: of production traces."""
