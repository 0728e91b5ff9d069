/**
 * Checks a transition of a component's own state, such as that of a manager.
 * @throws TypeError for an illegal one, which is a bug of the component
 */
export function requireTransition<S extends string>(
  component: string,
  transitions: Readonly<Record<S, readonly S[]>>,
  from: S,
  to: S,
): void {
  if (!transitions[from].includes(to))
    throw new TypeError(`invalid transition of the ${component} from ${from} to ${to}`);
}
