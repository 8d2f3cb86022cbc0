"""The example documents of the testing API, as its users were given them."""

from __future__ import annotations

DOCUMENTS = {
    "GetTestCases": """
query GetTestCases($promptId: ID!) {
testCases(promptId: $promptId) {
id
name
description
input
expectedOutput
totalRuns
passRate
avgScore
lastRun
lastPassed
createdAt
updatedAt
}
}
""",
    "GetTestCase": """
query GetTestCase($id: ID!) {
testCase(id: $id) {
id
name
description
input
expectedOutput
totalRuns
passRate
avgScore
prompt {
id
name
}
}
}
""",
    "GetTestCaseExecutions": """
query GetTestCaseExecutions($testCaseId: ID!, $limit: Int, $offset: Int) {
testCaseExecutions(testCaseId: $testCaseId, limit: $limit, offset: $offset) {
id
passed
score
actualOutput
expectedOutput
exactMatch
semanticScore
lengthDiff
tokenDiff
isRegression
regressionType
promptVersion
runDuration
createdAt
}
}
""",
    "GetTestCaseStats": """
query GetTestCaseStats($testCaseId: ID!) {
testCaseStats(testCaseId: $testCaseId) {
totalRuns
passRate
avgScore
recentRuns {
id
passed
score
promptVersion
createdAt
}
regressions {
id
passed
score
regressionType
promptVersion
createdAt
}
trendData {
date
totalRuns
passRate
avgScore
}
}
}
""",
    "CreateTestCase": """
mutation CreateTestCase($input: TestCaseInput!) {
createTestCase(input: $input) {
id
name
description
input
expectedOutput
createdAt
}
}
""",
    "UpdateTestCase": """
mutation UpdateTestCase($id: ID!, $input: TestCaseInput!, $seen: DateTime) {
updateTestCase(id: $id, input: $input, seen: $seen) {
id
name
description
input
expectedOutput
updatedAt
}
}
""",
    "DeleteTestCase": """
mutation DeleteTestCase($id: ID!) {
deleteTestCase(id: $id)
}
""",
    "RunTestCase": """
mutation RunTestCase($input: RunTestCaseInput!) {
runTestCase(input: $input) {
testCaseExecutionId
executionId
passed
score
actualOutput
expectedOutput
outputDiff
exactMatch
semanticScore
lengthDiff
tokenDiff
latencyMs
costUsd
isRegression
regressionType
}
}
""",
    "BatchRunTests": """
mutation BatchRunTests($input: BatchRunTestsInput!) {
batchRunTests(input: $input) {
testCaseExecutionId
executionId
passed
score
actualOutput
isRegression
regressionType
}
}
""",
    "UpdateExpectedOutput": """
mutation UpdateExpectedOutput($testCaseId: ID!, $output: String!) {
updateExpectedOutput(testCaseId: $testCaseId, output: $output) {
id
expectedOutput
updatedAt
}
}
""",
    "GetTestBranches": """
query GetTestBranches($testCaseId: ID!) {
testBranches(testCaseId: $testCaseId) {
id
name
description
provider
model
temperature
maxTokens
topP
isControl
isActive
totalRuns
avgLatency
avgCost
avgQualityScore
avgTokensPerSec
consistencyScore
passRate
createdAt
}
}
""",
    "GetBranchExecutions": """
query GetBranchExecutions($branchId: ID!, $limit: Int, $offset: Int) {
testBranchExecutions(branchId: $branchId, limit: $limit, offset: $offset) {
id
output
status
latencyMs
timeToFirstToken
tokensPerSecond
inputTokens
outputTokens
estimatedCost
qualityScore
similarityScore
clarityScore
validJson
promptVersion
createdAt
}
}
""",
    "CreateTestBranch": """
mutation CreateTestBranch($input: TestBranchInput!) {
createTestBranch(input: $input) {
id
name
model
temperature
}
}
""",
    "UpdateTestBranch": """
mutation UpdateTestBranch($id: ID!, $input: TestBranchInput!) {
updateTestBranch(id: $id, input: $input) {
id
name
temperature
maxTokens
}
}
""",
    "DeleteTestBranch": """
mutation DeleteTestBranch($id: ID!) {
deleteTestBranch(id: $id)
}
""",
    "RunABTest": """
mutation RunABTest($input: RunABTestInput!) {
runABTest(input: $input) {
branches {
branchId
branchName
model
execution {
id
output
status
}
qualityScore
latencyMs
estimatedCost
tokensPerSecond
rank
}
winner {
branchId
branchName
model
qualityScore
latencyMs
estimatedCost
}
criteria
}
}
""",
    "CreateTestCaseAgain": """
mutation CreateTestCase($input: TestCaseInput!) {
createTestCase(input: $input) {
id
}
}
""",
    "CreateBranch": """
mutation CreateBranch($input: TestBranchInput!) {
createTestBranch(input: $input) {
id
}
}
""",
    "RunABTestAgain": """
mutation RunABTest($input: RunABTestInput!) {
runABTest(input: $input) {
winner {
branchName
model
qualityScore
latencyMs
estimatedCost
}
branches {
branchName
model
qualityScore
latencyMs
estimatedCost
rank
}
criteria
}
}
""",
    "GetBranchExecutionsAgain": """
query GetBranchExecutions($branchId: ID!, $limit: Int) {
testBranchExecutions(branchId: $branchId, limit: $limit) {
output
qualityScore
latencyMs
estimatedCost
createdAt
}
}
""",
    "CreateTestCaseAgainAgain": """
mutation CreateTestCase($input: TestCaseInput!) {
createTestCase(input: $input) {
id
name
}
}
""",
    "BatchRun": """
mutation BatchRun($input: BatchRunTestsInput!) {
batchRunTests(input: $input) {
testCaseExecutionId
passed
score
isRegression
regressionType
actualOutput
}
}
""",
    "GetStats": """
query GetStats($testCaseId: ID!) {
testCaseStats(testCaseId: $testCaseId) {
totalRuns
passRate
avgScore
trendData {
date
passRate
avgScore
}
}
}
""",
}
