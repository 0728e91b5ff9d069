import type { Mistake } from './mistake.js';
import { service, volume } from './objects.js';

const nothing = () => Promise.resolve();
const volumeText = (more: string): string =>
  `kind: Volume\nname: data\nstorageClassName: local\naccessMode: ReadWriteOnce\n${more}`;

/** Mistakes on the command line and in files, which the command itself reports. */
export const ofCommands: readonly Mistake[] = [
  {
    name: 'wrong indentation',
    given: ({ file }) => file(volumeText('size: 1Mi\n parameters:\n   backing: image\n')),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['$NS.yaml:6', 'is indented further than the previous line', 'align it'],
  },
  {
    name: 'a size that can not be read',
    given: ({ file }) => file(volumeText('size: lots\n')),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['$NS.yaml:5', 'size', 'lots'],
  },
  {
    name: 'a class that does not exist',
    given: ({ file }) => file(volumeText('size: 1Mi\n').replace('Name: local', 'Name: fast')),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['storage class "fast" does not exist; create it, or use another'],
  },
  {
    name: 'no class, and no default class',
    given: ({ file }) => file('kind: Volume\nname: data\nsize: 1Mi\naccessMode: ReadWriteOnce\n'),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['storageClassName: is required', 'kedge storageclass set-default'],
  },
  {
    name: 'a misspelt kind in a file',
    given: ({ file }) => file(volumeText('size: 1Mi\n').replace('Volume', 'Volumee')),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['Volumee', 'did you mean Volume?'],
  },
  {
    name: 'a misspelt field in a file',
    given: ({ file }) => file(volumeText('siez: 1Mi\n')),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['siez', 'size'],
  },
  {
    name: 'a misspelt name',
    given: ({ post }) => post('volumes', volume()),
    command: 'kedge why volume/dta -n $NS',
    code: 4,
    words: ['Volume "$NS/dta" does not exist', 'Did you mean data?'],
  },
  {
    name: 'a misspelt type',
    given: nothing,
    command: 'kedge why volme/data -n $NS',
    code: 6,
    words: ['did you mean volume?'],
  },
  {
    name: 'a misspelt command',
    given: nothing,
    command: 'kedge wyh service/web',
    code: 2,
    words: ['Did you mean kedge why?'],
  },
  {
    name: 'a kind without a state',
    given: ({ post }) => post('secrets', { name: 'login', data: { password: 'x' } }),
    command: 'kedge why secret/login -n $NS',
    code: 6,
    words: ['secrets have no state to explain', 'kedge describe secret/login'],
  },
  {
    name: 'no mistake: a service that runs',
    given: ({ post }) => post('services', service()),
    until: ['services/web', '"status":"Running"'],
    command: 'kedge why service/web -n $NS',
    words: ['Service $NS/web is Running', 'It has no problem'],
  },
  {
    name: 'an invalid or expired token',
    given: nothing,
    command: 'KEDGE_TOKEN=kedge_expired kedge why service/web -n $NS',
    code: 3,
    words: [
      'Set KEDGE_TOKEN to a valid token',
      'login --server ',
      '< token-file',
      'kedge token create USER',
      'kedged recover-root',
    ],
  },
  {
    name: 'no daemon',
    given: nothing,
    command: 'KEDGE_SERVER=127.0.0.1:1 kedge why service/web -n $NS',
    code: 1,
    words: ['Is kedged running at 127.0.0.1:1?', 'Start it with: '],
  },
  {
    name: 'the REST port instead of the gRPC port',
    given: nothing,
    command: 'KEDGE_SERVER=$REST kedge why service/web -n $NS',
    code: 1,
    words: ['is not the gRPC port of kedged', 'the default gRPC port is 7863'],
  },
  {
    name: 'TLS to a daemon without TLS',
    given: nothing,
    command:
      'mkdir -p $XDG_CONFIG_HOME/tls/kedge && openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out $XDG_CONFIG_HOME/tls/ca.pem -subj /CN=x 2>/dev/null && ' +
      'printf "current: a\\ncontexts: {a: {server: \"$KEDGE_SERVER\", token: x, caFile: $XDG_CONFIG_HOME/tls/ca.pem}}\\n" >$XDG_CONFIG_HOME/tls/kedge/config.yaml && ' +
      'chmod 600 $XDG_CONFIG_HOME/tls/kedge/config.yaml && ' +
      'env -u KEDGE_SERVER -u KEDGE_TOKEN XDG_CONFIG_HOME=$XDG_CONFIG_HOME/tls kedge why service/web -n $NS',
    code: 1,
    words: ['does not use TLS, and the context does', 'log in without --tls and --ca-file'],
  },
  {
    name: 'a proxy that does not connect',
    given: nothing,
    command: 'http_proxy=http://$REST KEDGE_SERVER=192.0.2.1:7863 kedge why service/web -n $NS',
    code: 1,
    words: ['no connection through the HTTP proxy', 'add its host to no_proxy'],
  },
  {
    name: 'a service that does not run, in a table',
    given: ({ post }) => post('services', service({ command: ['slep'] })),
    until: ['instances/web-0', 'is not found in its PATH'],
    command: 'kedge get services,instances -n $NS',
    words: ['CAUSE', "Instance $NS/web-0: can't be started: command slep is not found"],
  },
  {
    name: 'a service that does not run, as JSON',
    given: ({ post }) => post('services', service({ workingDir: '/none' })),
    until: ['instances/web-0', 'working directory'],
    command: 'kedge why service/web -n $NS -o json',
    words: [
      '"reason": "StartFailed"',
      '"type": "run"',
      '"command": "kedge patch service/web -n $NS',
    ],
  },
];
