#!/bin/sh
# bundle & run
cd /work/main/test/zz-qa2
npx esbuild $1 --bundle --platform=node --format=esm --target=node20 --outfile=./_$1 --external:openai --external:@anthropic-ai/sdk --external:@google/genai --external:ajv --external:ajv-formats --log-level=error && node ./_$1
