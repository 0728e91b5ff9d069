/** The mask of sealed values for clients; writing it keeps the stored value. */
export const mask = '********';
