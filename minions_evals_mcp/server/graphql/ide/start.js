"use strict";
{
  const fetcher = async (asked) => {
    // What the API is stands in a file: the query that asks for it is deeper than queries may be.
    if (asked.operationName === "IntrospectionQuery") return (await fetch("/graphql/schema.json")).json();
    const answer = await fetch("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    return answer.json();
  };
  const query = "# The testing API: test cases, their runs, statistics and A/B branches.\n{\n  __typename\n}\n";
  ReactDOM.createRoot(document.getElementById("graphiql")).render(
    React.createElement(GraphiQL, { fetcher, defaultQuery: query, shouldPersistHeaders: false }),
  );
}
