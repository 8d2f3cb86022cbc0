"""The testing API as GraphQL: the same engine verbs, served at `/graphql` beside MCP over HTTP."""
