#!/usr/bin/env node
import('../dist/kedged/main.js').catch((error) => {
  const missing = error.code === 'ERR_MODULE_NOT_FOUND';
  console.error(
    missing ? 'kedged is not built yet: run npm start (or npm run build) first' : error,
  );
  process.exit(1);
});
