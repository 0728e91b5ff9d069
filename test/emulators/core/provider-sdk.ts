/**
 * Loads the SDK of a provider, or a package that comes with it. Skips the suite with a message if it is not installed;
 * throws in CI.
 */
export async function providerSdk<T>(context: Mocha.Context, name: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND' || process.env['CI'])
      throw error;
    console.log(`skipped: ${name} is not installed; npm test installs it`);
    return context.skip();
  }
}
